// Light, dark, or what the system says.

const KEY = "theme";

function stored() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function apply(theme) {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

export function theme(place) {
  const now = stored() ?? "system";
  apply(now);
  for (const radio of place.querySelectorAll("input")) {
    radio.checked = radio.value === now;
    radio.addEventListener("change", () => {
      apply(radio.value);
      try {
        localStorage.setItem(KEY, radio.value);
      } catch {
        // Without storage the choice lasts as long as the page.
      }
    });
  }
}
