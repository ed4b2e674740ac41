/** Light, dark, or what the system says; the choice is kept in this browser. */
export type ColourScheme = 'system' | 'light' | 'dark';

const KEY = 'headgate.colour-scheme';

export function storedScheme(): ColourScheme {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'light' || value === 'dark' ? value : 'system';
  } catch {
    // Storage may be switched off.
    return 'system';
  }
}

export function chooseScheme(scheme: ColourScheme): void {
  try {
    localStorage.setItem(KEY, scheme);
  } catch {
    // It then lasts as long as the page.
  }
  apply(scheme);
}

export function applyStoredScheme(): void {
  apply(storedScheme());
}

function apply(scheme: ColourScheme): void {
  if (scheme === 'system') delete document.documentElement.dataset['scheme'];
  else document.documentElement.dataset['scheme'] = scheme;
}
