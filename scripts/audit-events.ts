/** Writes the list of events in docs/audit-log.md from the event definitions. */
import type { z } from 'zod';
import { administrationEntries } from '../server/observability/administration-entries.ts';
import type { EntryDefinition } from '../server/observability/define-entry.ts';
import { oauthEntries, requestEntries, signInEntries } from '../server/observability/request-entries.ts';
import { markdownTable, writeGeneratedPart } from './generated-file.ts';

const sections: [string, Record<string, EntryDefinition>][] = [
  ['Requests and the server', requestEntries],
  ['Signing in', signInEntries],
  ['OAuth clients', oauthEntries],
  ['Administration', administrationEntries],
];

/** The descriptions of fields that several audit events share. The document lists these fields only once. */
const common = new Map<string, string>();
const fields = sections.flatMap(([, events]) => Object.values(events).flatMap(({ fields }) => fieldsOf(fields)));
for (const { name, meaning } of fields) {
  const count = fields.filter(other => other.name === name && other.meaning === meaning).length;
  if (count > 1 && !common.has(name)) common.set(name, meaning);
}

writeGeneratedPart('docs/audit-log.md', [listCommon(), ...sections.map(section)].join('\n'), 'audit-events');

function listCommon(): string {
  const rows = [...common].map(([name, meaning]) => [`\`${name}\``, meaning]);
  return `### Fields of several events\n\n${markdownTable(['field', 'meaning'], rows)}`;
}

function section([title, events]: [string, Record<string, EntryDefinition>]): string {
  const rows = Object.entries(events).map(([name, { when, fields, countsRepetitions }]) => [
    `\`${name}\``,
    `${when}${countsRepetitions ? ' *Repetitions within a minute are [only counted](#limits).*' : ''}`,
    fieldsOf(fields).map(describe).join(', '),
  ]);
  return `### ${title}\n\n${markdownTable(['event', 'when', 'fields'], rows)}`;
}

interface Field {
  name: string;
  meaning: string;
  isOptional: boolean;
}

function fieldsOf({ shape }: z.ZodObject): Field[] {
  return Object.entries(shape as Record<string, z.ZodType>).map(([name, schema]) => ({
    name,
    meaning: meaningOf(schema),
    isOptional: schema.isOptional(),
  }));
}

function describe({ name, meaning, isOptional }: Field): string {
  return `\`${name}\`${isOptional ? '?' : ''}${common.get(name) === meaning ? '' : ` (${meaning})`}`;
}

function meaningOf(schema: z.ZodType): string {
  const inner = 'unwrap' in schema ? (schema.unwrap as () => z.ZodType)() : undefined;
  const { description } = schema;
  if (description === undefined) {
    if (inner) return meaningOf(inner);
    throw new Error('A field of an event has no description');
  }
  const values = 'options' in schema ? (schema.options as string[]).map(value => `\`${value}\``) : [];
  // If the description already names every value, the document does not list the values again.
  if (values.length === 0 || values.every(value => description.includes(value))) return description;
  return `${description}: ${values.join(', ')}`;
}
