"use strict";
// A button on every block of code that copies it, without the prompts of a terminal.
document.addEventListener("DOMContentLoaded", function () {
  for (const block of document.querySelectorAll(".highlight pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async function () {
      const text = block.textContent.replace(/\n$/, "");
      const console = block.closest(".highlight-console");
      await navigator.clipboard.writeText(console ? text.replace(/^\$ /gm, "") : text);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    block.parentElement.append(button);
  }
});
