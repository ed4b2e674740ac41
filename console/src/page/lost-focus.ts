/**
 * Keeps the place of readers who work with the keyboard. What has the focus may vanish or be disabled: the row of a
 * record that is deleted, a dialog whose button is gone meanwhile, the button that has saved a form. The browser would
 * begin at the top of the page again; the focus goes to the nearest part of the page that is still there instead.
 *
 * Owns the elements around those that had the focus last: at all, and outside of dialogs.
 */
const PLACES = 'main, section, [tabindex]';
const PAGE = 'main';

/** To be called once for the page. @returns a function that ends it */
export function keepLostFocus(): () => void {
  const ended = new AbortController();
  const { signal } = ended;
  let focused: Element | undefined;
  let around: readonly HTMLElement[] = [];
  let aroundInPage: readonly HTMLElement[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;

  const look = (): void => {
    timer = undefined;
    if (focused === undefined || canHaveFocus(focused) || hasFocus()) return;
    focused = undefined;
    const places = [...around, ...aroundInPage, ...document.querySelectorAll<HTMLElement>(PAGE)];
    const place = places.find((element) => element.isConnected && element.checkVisibility());
    if (place === undefined) return;
    if (!place.hasAttribute('tabindex')) place.tabIndex = -1;
    place.focus({ preventScroll: true });
  };
  // Not at once: a dialog gives the focus back a moment after it has gone.
  const observer = new MutationObserver(() => {
    timer ??= setTimeout(look);
  });
  observer.observe(document.body, { childList: true, subtree: true, attributeFilter: ['disabled'] });
  signal.addEventListener('abort', () => {
    observer.disconnect();
    clearTimeout(timer);
  });

  document.addEventListener(
    'focusin',
    ({ target }) => {
      if (!(target instanceof Element)) return;
      focused = target;
      around = placesAround(target);
      if (target.closest(PAGE) !== null) aroundInPage = around;
    },
    { signal },
  );
  document.addEventListener(
    'focusout',
    ({ target }) => {
      // The reader has left it, by a press on the page. What is taken out of the page or disabled loses it likewise.
      queueMicrotask(() => {
        if (focused !== undefined && target === focused && canHaveFocus(focused) && !hasFocus())
          focused = undefined;
      });
    },
    { signal },
  );
  return () => ended.abort();
}

function hasFocus(): boolean {
  return document.activeElement !== null && document.activeElement !== document.body;
}

function canHaveFocus(element: Element): boolean {
  return element.isConnected && !element.matches(':disabled');
}

/** The nearest first. */
function placesAround(element: Element): readonly HTMLElement[] {
  const places: HTMLElement[] = [];
  for (
    let place = element.parentElement?.closest<HTMLElement>(PLACES);
    place !== null && place !== undefined;
    place = place.parentElement?.closest<HTMLElement>(PLACES)
  )
    places.push(place);
  return places;
}
