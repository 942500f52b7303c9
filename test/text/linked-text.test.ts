import { parse } from 'node-html-parser';
import { describe, expect, test } from 'vitest';
import { linkedText } from '../../server/text/linked-text.ts';

/** Returns the links in a text, each with its shown text and its URL. */
function linksIn(text: string) {
  const links = parse(linkedText(text).text).querySelectorAll('a');
  return links.map(link => [link.textContent, link.getAttribute('href')]);
}

test("a URL in a user's text becomes a link with an attribute that tells search engines not to follow the link", () => {
  expect(linkedText('See https://a.example/b?c=1&d=2\nfor <more>.').text).toBe(
    'See <a href="https://a.example/b?c=1&amp;d=2" dir="ltr" rel="nofollow ugc noopener">https://a.example/b?c=1&amp;d=2</a>\nfor &lt;more&gt;.',
  );
});

test.each([
  ['Read https://a.example/x.', 'https://a.example/x'],
  ['Really https://a.example/x?!', 'https://a.example/x?'],
  ['(see https://a.example/x)', 'https://a.example/x'],
  ['(see https://a.example/x_(y))', 'https://a.example/x_(y)'],
  ['<https://a.example/x>', 'https://a.example/x'],
  ['“https://a.example/x”, he said', 'https://a.example/x'],
  ['"https://a.example/x"', 'https://a.example/x'],
  ['[https://a.example/x], then', 'https://a.example/x'],
  ['https://a.example/x…', 'https://a.example/x'],
  ['「https://a.example/x」。', 'https://a.example/x'],
  ['HTTP://A.example:8080/X#y', 'http://a.example:8080/X#y'],
])('the link in the text %s leads to %s', (text, url) => {
  expect(linksIn(text)).toEqual([[url, url]]);
});

test.each([
  'javascript:alert(1)',
  'javascript://a.example/%0aalert(1)',
  'data:text/html,x',
  'ftp://a.example/x',
  '//a.example/x',
  'www.a.example',
  'a.example/x',
  'mailto:ada@example.com',
  'ada@example.com',
  'https://',
  'xhttps://a.example',
])('the text %s contains no link, because only URLs with http or https become links', text => {
  expect(linksIn(text)).toEqual([]);
});

describe('hostile URLs', () => {
  test("a link in a user's text shows the host that browsers open, in Punycode if the host has letters of other alphabets", () => {
    expect(linksIn('https://аррӏе.com/ü')).toEqual([
      ['https://xn--80ak6aa92e.com/ü', 'https://xn--80ak6aa92e.com/%C3%BC'],
    ]);
    expect(linksIn('https://ｂａｎｋ.example/')[0]?.[0]).toBe('https://bank.example/');
    expect(linksIn('http://2130706433/')[0]?.[0]).toBe('http://127.0.0.1/');
  });

  test("a URL with a user name or control characters in a user's text does not become a link, because the URL can imitate another host", () => {
    for (const url of ['https://bank.example@evil.example/', 'https://a:b@evil.example', 'https://a.example/\u202eb']) {
      expect([url, linkedText(url).text]).toEqual([url, url]);
    }
  });

  test("hostile text in a link's URL can neither end the link's attribute nor add markup", () => {
    for (const text of [
      `https://a.example/"onmouseover="alert(1)`,
      `https://a.example/'onmouseover='alert(1)`,
      'https://a.example/<script>alert(1)</script>',
      'https://a.example/</a><img src=x>',
      'https://a.example/&quot;onclick=&quot;x',
    ]) {
      const elements = parse(linkedText(text).text).querySelectorAll('*');
      for (const { tagName, attributes } of elements) {
        expect([tagName, Object.keys(attributes)]).toEqual(['A', ['href', 'dir', 'rel']]);
      }
      expect(parse(linkedText(text).text).textContent).toBe(text);
    }
  });
});

test("a member's name after @ is highlighted, but not a name without @, in an e-mail address or in a longer word", () => {
  const { text } = linkedText('@Ann Lee, @ann (Ann) and mail@Ann @Anna @Ann-Lee https://a.example/@Ann', [
    'Ann',
    'Ann Lee',
  ]);
  const marked = parse(text).querySelectorAll('.mention');
  expect(marked.map(({ textContent }) => textContent)).toEqual(['@Ann Lee', '@ann']);
  expect(linkedText('@<b>', ['<b>']).text).toBe('<span class="mention">@&lt;b&gt;</span>');
});
