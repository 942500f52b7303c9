import { expect, test } from 'vitest';
import { html } from '../../server/text/html.ts';

test('the template literal tag `html` escapes values in text and in attributes, and does not escape nested templates again', () => {
  const hostile = `<b class="x" id='y'>&amp;</b>`;
  const escaped = '&lt;b class=&quot;x&quot; id=&#39;y&#39;&gt;&amp;amp;&lt;/b&gt;';
  expect(html`<p title="${hostile}">${hostile}</p>`.text).toBe(`<p title="${escaped}">${escaped}</p>`);
  expect(html`<ul>${['<', 1].map(one => html`<li>${one}</li>`)}</ul>`.text).toBe('<ul><li>&lt;</li><li>1</li></ul>');
});

test('the template literal tag `html` renders false, undefined and empty strings as nothing', () => {
  expect(html`${false}${undefined}${''}.`.text).toBe('.');
});
