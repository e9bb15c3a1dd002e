import type { LauncherProfile, LaunchProblem } from "../launch/index.ts";
import type { ModelChoice } from "../recipe/index.ts";

/** What of a profile's staging does not go with a recipe; the launchers tell what does not go with the machine. */
export const placeProblems = (profile: LauncherProfile, model: ModelChoice): readonly LaunchProblem[] => {
  if (profile.kind === "local" || profile.kind === "sagemaker") return [];
  const { stage, container } = profile;
  const problems: LaunchProblem[] = [];
  if (stage.data === "image" && container === undefined) {
    problems.push({
      code: "STAGE_IMAGE",
      message: "the data is to come with the image (stage.data: image), and the profile has no container",
      hint: "add a container, or take upload or existing for stage.data",
    });
  }
  if (stage.model === "image" && model.kind === "tiny") {
    problems.push({
      code: "STAGE_TINY",
      message: "the tiny model cannot come with an image (stage.model: image): it is made here",
      hint: "take upload for stage.model",
    });
  }
  return problems;
};
