import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { redactPerson } from '../../../server/domain/erasure/placeholder.ts';

const placeholder = { id: 99, name: 'Deleted user' };
const redact = (value: unknown) => {
  const redacted = redactPerson(JSON.stringify(value), 7, placeholder);
  return redacted === undefined ? undefined : JSON.parse(redacted);
};

test('redactPerson() replaces an erased person with the placeholder for erased users everywhere in a JSON value and keeps all other fields', () => {
  const shown = {
    actor: { id: 7, name: 'Ada', token_id: 3 },
    idea: { id: 7, author: { id: 7, name: 'Ada' }, tags: [{ id: 7, name: 'Billing', color: '#000000' }] },
    board: { id: 7, slug: 'web', name: 'Web' },
    people: [{ name: 'Ada', id: 7 }],
    nothing: null,
  };
  expect(redact(shown)).toEqual({
    actor: { id: 99, name: 'Deleted user', token_id: 3 },
    idea: { id: 7, author: placeholder, tags: [{ id: 7, name: 'Billing', color: '#000000' }] },
    board: { id: 7, slug: 'web', name: 'Web' },
    people: [placeholder],
    nothing: null,
  });
});

test('redactPerson() returns undefined for a JSON value that does not show the erased person', () => {
  for (const other of [
    { author: { id: 8, name: 'Ada' } },
    { id: 7 },
    [],
    null,
    'Ada',
    { title: '{"id":7,"name":"Ada"}' },
  ]) {
    expect(redact(other)).toBeUndefined();
  }
});

test('the only schemas of the contract with just an id and a name are actor, author, and the account and issuer of a token', () => {
  const document = readFileSync(new URL('../../../contract/openapi.json', import.meta.url), 'utf8');
  const found = new Set<string>();
  const walk = (value: unknown, path: string) => {
    if (typeof value !== 'object' || value === null) return;
    const { properties } = value as { properties?: Record<string, unknown> };
    const keys = Object.keys(properties ?? {}).filter(key => key !== 'token_id');
    if (keys.sort().join() === 'id,name') found.add(path);
    for (const [key, one] of Object.entries(value)) walk(one, `${path}/${key}`);
  };
  walk(JSON.parse(document), '');
  const people = ['/components/schemas/Actor', '/components/schemas/Author'];
  // redactPerson() would also replace the account and the issuer of a token. But redactPerson() never gets the account
  // or the issuer of a token, because no event and no stored response contains them.
  const ofToken = ['/components/schemas/Token/properties/account', '/components/schemas/Token/properties/issuer'];
  expect([...found].sort()).toEqual([...people, ...ofToken]);
});
