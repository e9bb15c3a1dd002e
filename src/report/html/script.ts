/**
 * The only script of the page: links become players when their group opens, the measures of answers side by side open
 * together, one voice plays at a time, and a link to a dialogue opens it.
 */
export const SCRIPT = `
document.addEventListener("toggle", (event) => {
  const group = event.target;
  if (group.matches(".measures"))
    for (const other of group.closest(".answers").querySelectorAll(".measures")) other.open = group.open;
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
const reveal = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (!target || !target.matches("details.dialogue")) return;
  for (let at = target; at; at = at.parentElement) if (at.matches("details")) at.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();
`;
