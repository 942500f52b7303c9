/**
 * Gives a button that copies to each text that is there to be copied: the only script of any page. Without it, or where the
 * browser has no clipboard for the page, a click on the text selects it.
 */
for (const text of navigator.clipboard ? document.querySelectorAll('.select-all') : []) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'button-quiet button-small';
  button.textContent = 'Copy';
  button.setAttribute('aria-label', `Copy: ${text.getAttribute('aria-label')}`);
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(text.textContent);
    button.textContent = 'Copied';
  });
  text.after(button);
}
