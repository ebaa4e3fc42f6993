// Runs before anything is drawn, so that a dark page never flashes white.
(() => {
  let theme = "system";
  try {
    theme = JSON.parse(localStorage.getItem("tbq.theme") ?? '"system"');
  } catch {
    // Storage may be off.
  }
  const dark = theme === "dark" || (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
