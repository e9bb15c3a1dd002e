/** The only script of the page: links become players when their group opens, and one voice plays at a time. */
export const SCRIPT = `
document.addEventListener("toggle", (event) => {
  const group = event.target;
  if (!group.open) return;
  for (const link of group.querySelectorAll("a.clip")) {
    if (link.closest("details") !== group) continue;
    const audio = document.createElement("audio");
    audio.controls = true;
    audio.preload = "none";
    audio.src = link.getAttribute("href");
    audio.setAttribute("aria-label", link.getAttribute("aria-label"));
    link.replaceWith(audio);
  }
}, true);
document.addEventListener("play", (event) => {
  for (const audio of document.querySelectorAll("audio")) if (audio !== event.target) audio.pause();
}, true);
`;
