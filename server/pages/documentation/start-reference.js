/**
 * Draws the API reference below the overview, and removes the overview when the reference is complete. If the browser
 * cannot load the script of the reference, the overview stays.
 */
const { script: source, configuration } = document.currentScript.dataset;

function start() {
  const script = document.createElement('script');
  script.src = source;
  script.addEventListener('load', () => {
    const overview = document.getElementById('overview');
    const reference = document.getElementById('reference');
    const isComplete = () => reference.querySelector('h1');
    const observer = new MutationObserver(() => {
      if (!isComplete()) return;
      observer.disconnect();
      const { scrollTop } = overview;
      overview.remove();
      if (!location.hash) scrollTo(0, scrollTop);
    });
    observer.observe(reference, { childList: true, subtree: true });
    globalThis.Scalar.createApiReference(reference, JSON.parse(configuration));
  });
  document.head.append(script);
}

// The script blocks the browser for half a second, so it starts only after the browser has shown the overview.
requestAnimationFrame(() => setTimeout(start));
