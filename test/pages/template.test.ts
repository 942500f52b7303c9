import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { definePage } from '../../server/pages/shell/page.ts';
import { loadTemplate } from '../../server/pages/shell/template.ts';

const directory = new URL('../../server/', import.meta.url);
const templates = globSync('**/*.eta', { cwd: directory });
const sourceOf = (file: string) => readFileSync(new URL(file, directory), 'utf8');

const hostile = `"><script>alert('1')</script>&amp;`;
const escaped = '&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;';

test('every HTML template compiles', () => {
  expect(templates).toContain('pages/shell/layout.eta');
  for (const file of templates) loadTemplate(file);
});

test('every HTML template escapes all output, except the output of included templates, which is already escaped', () => {
  for (const file of templates) {
    const raw = sourceOf(file).match(/<%[-_]?\s*~(?! include\()[^%]*%>/g);
    expect([file, raw]).toEqual([file, null]);
  }
});

/** The script element of the layout. Its attributes contain the texts for the script. */
const theScript =
  '<script src="<%= it.script.path %>"<% for (const [name, key] of Object.entries(it.script.texts ?? {})) { %> data-<%= name %>="<%= t(key) %>"<% } %> defer></script>';

/** A script element whose script is in a file of the server. */
const fileScript = /<script src="<%= it\.\w+ %>"( data-\w+="<%= it\.\w+ %>")* defer><\/script>/;

test('templates have no inline scripts, inline styles or unquoted attributes', () => {
  for (const file of templates) {
    const source = sourceOf(file).replace(theScript, '').replace(fileScript, '');
    expect([file, source.match(/<script|<style|\sstyle=|\son[a-z]+=|javascript:|=<%/gi)]).toEqual([file, null]);
  }
});

test('templates escape values in text and in attributes, and do not escape an included template again', () => {
  const page = definePage<object>('pages/shell/error')(
    {
      title: hostile,
      site: { label: hostile, href: hostile },
      navigation: [{ label: hostile, href: hostile }],
      canonicalUrl: hostile,
    },
    { status: 404, title: hostile, explanation: hostile, link: { label: hostile, href: hostile } },
  );
  expect(page.text).not.toContain('<script');
  expect(page.text.split(escaped)).toHaveLength(11);
  expect(page.text).toContain(`<h1>${escaped}</h1>`);
});

test('a template renders a missing value as empty text and throws an error for an object', () => {
  const render = loadTemplate<object>('pages/unsubscribe/unsubscribe');
  expect(render({ title: undefined, explanation: null, button: false }).text).toContain('<h1></h1>\n<p></p>');
  expect(() => render({ title: {}, explanation: '' })).toThrow(TypeError);
});

test('loading a missing template or a file outside the folder of the pages throws an error', () => {
  expect(() => loadTemplate('none')).toThrow();
  expect(() => loadTemplate('../app')).toThrow();
});
