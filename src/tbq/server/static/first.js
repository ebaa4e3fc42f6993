// Sets the theme before the first paint, so that a dark page never flashes white.
(() => {
  let theme = "system";
  try {
    theme = JSON.parse(localStorage.getItem("tbq.theme") ?? '"system"');
  } catch {
    // The browser may block storage.
  }
  const dark = theme === "dark" || (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
