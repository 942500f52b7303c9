/**
 * Votes without a page load, and shows similar ideas while a person types the title of a new idea. To do so, it
 * replaces a part of the page by the same part of a new page from the server. Without this script, the forms load whole
 * pages.
 */

async function pageFrom(url, options) {
  const response = await fetch(url, options);
  return { page: new DOMParser().parseFromString(await response.text(), 'text/html'), url: response.url };
}

function replacePart(id, page) {
  const part = page.getElementById(id);
  if (part) document.getElementById(id)?.replaceWith(part);
  return part !== null;
}

// Screen readers announce the texts that appear in this element.
const status = document.createElement('p');
status.className = 'visually-hidden';
status.setAttribute('role', 'status');
document.body.append(status);

document.addEventListener('submit', async event => {
  const form = event.target;
  const button = event.submitter;
  if (!form.matches('.vote') || !button) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form, button));
  const label = button.getAttribute('aria-label');
  const sent = await pageFrom(form.action, { method: 'POST', body }).catch(() => undefined);
  // Without an answer, lets the browser send the form. form.submit() does not call the listeners of the event `submit`.
  if (!sent) {
    form.append(Object.assign(document.createElement('input'), { type: 'hidden', name: 'value', value: button.value }));
    return form.submit();
  }
  document.getElementById('problem')?.remove();
  const tally = form.closest('#tally');
  const problem = sent.page.getElementById('problem');
  if (problem && tally) return tally.before(problem);
  if (problem) return form.nextElementSibling.prepend(problem);
  const { id } = tally ?? form;
  // After the end of the session, the answer is the sign-in page, which has no such part.
  if (!replacePart(id, sent.page)) return location.assign(sent.url);
  const replaced = document.getElementById(id);
  [...replaced.querySelectorAll('button')].find(one => one.getAttribute('aria-label') === label)?.focus();
  status.textContent = document.getElementById(form.id)?.dataset.announcement ?? '';
});

const pauseMs = 400;
const shortestTitle = 5;
const title = document.querySelector('#new-idea [name=title]');
let timer;

title?.addEventListener('input', () => {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    const typed = title.value.trim();
    if (typed.length < shortestTitle) return;
    const url = new URL(location.href);
    url.searchParams.set('title', typed);
    const { page } = (await pageFrom(url).catch(() => undefined)) ?? {};
    // The person may have changed the title since the request.
    if (page && title.value.trim() === typed) replacePart('similar', page);
  }, pauseMs);
});

// Suggests names after an @ in the comment field. The suggestions are buttons after the field, so that the Tab key
// reaches them.
const suggestions = document.getElementById('mentionable');
const comment = suggestions?.closest('form').querySelector('[name=body]');

/** Returns the text from the last @ before the cursor. Undefined if the person is not typing a name. */
function typedName() {
  return /(?:^|[\s(])@([^\n@]{1,100})$/.exec(comment.value.slice(0, comment.selectionStart))?.[1];
}

comment?.addEventListener('input', () => {
  const typed = typedName()?.toLowerCase();
  let found = 0;
  for (const button of suggestions.children) {
    const name = button.value.toLowerCase();
    button.hidden = typed === undefined || found === 5 || name === typed || !name.startsWith(typed);
    if (!button.hidden) found += 1;
  }
  if (found > 0 && suggestions.hidden) status.textContent = suggestions.dataset.found;
  suggestions.hidden = found === 0;
});

suggestions?.addEventListener('click', event => {
  const { value } = event.target.closest('button') ?? {};
  if (value === undefined) return;
  const end = comment.selectionStart;
  comment.setRangeText(`${value} `, end - (typedName()?.length ?? 0), end, 'end');
  suggestions.hidden = true;
  comment.focus();
});
