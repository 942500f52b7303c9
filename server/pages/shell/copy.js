/**
 * Adds a copy button beside each text that people may copy. If the script or the
 * clipboard is not available, a click on the text selects the text.
 */
const { copy, copied, selected } = document.currentScript.dataset;
const buttons = [];

for (const text of navigator.clipboard ? document.querySelectorAll('.select-all') : []) {
  const what = text.getAttribute('aria-label');
  const button = document.createElement('button');
  const say = (word, isAnnounced = true) => {
    button.textContent = word;
    button.setAttribute('aria-label', `${word}: ${what}`);
    status.textContent = isAnnounced ? button.getAttribute('aria-label') : '';
  };
  // Screen readers announce a changed status, but not a changed button.
  const status = document.createElement('span');
  status.className = 'visually-hidden';
  status.setAttribute('role', 'status');
  button.type = 'button';
  button.className = 'button-quiet button-small';
  button.addEventListener('click', async () => {
    // Resets the labels of all other copy buttons, because the clipboard holds only one text.
    for (const reset of buttons) reset();
    try {
      await navigator.clipboard.writeText(text.textContent);
      say(copied);
    } catch {
      getSelection().selectAllChildren(text);
      say(selected);
    }
  });
  buttons.push(() => say(copy, false));
  say(copy, false);
  text.after(button, status);
}
