/**
 * Gives a button that copies to each text that is there to be copied: the only script of any page. Without it, or where the
 * browser has no clipboard for the page, a click on the text selects it.
 */
const buttons = [];

for (const text of navigator.clipboard ? document.querySelectorAll('.select-all') : []) {
  const what = text.getAttribute('aria-label');
  const button = document.createElement('button');
  const say = (word, isTold = true) => {
    button.textContent = word;
    button.setAttribute('aria-label', `${word}: ${what}`);
    status.textContent = isTold ? button.getAttribute('aria-label') : '';
  };
  // Read out when it changes, which the name of a button is not.
  const status = document.createElement('span');
  status.className = 'visually-hidden';
  status.setAttribute('role', 'status');
  button.type = 'button';
  button.className = 'button-quiet button-small';
  button.addEventListener('click', async () => {
    // The clipboard has one of them.
    for (const reset of buttons) reset();
    try {
      await navigator.clipboard.writeText(text.textContent);
      say('Copied');
    } catch {
      getSelection().selectAllChildren(text);
      say('Selected');
    }
  });
  buttons.push(() => say('Copy', false));
  say('Copy', false);
  text.after(button, status);
}
