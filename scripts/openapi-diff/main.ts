/** Compares two OpenAPI documents from a client's point of view. */
import type { Difference } from './change.ts';
import { formatGithub } from './formats/format-github.ts';
import { formatJunit } from './formats/format-junit.ts';
import { formatMarkdown } from './formats/format-markdown.ts';
import { formatText } from './formats/format-text.ts';
import type { Source } from './read-source.ts';

export { acceptChanges, parseAcceptances } from './accept-changes.ts';
export type { Change, Difference } from './change.ts';
export { compareDocuments } from './compare-documents.ts';
export { DocumentError, parseDocument } from './document.ts';
export type { Json, JsonObject } from './json.ts';
export { readSource } from './read-source.ts';
export { isRaisedBy, requiredBump } from './required-bump.ts';
export { levels, renderRules, rules } from './rules.ts';
export { judgeByUsage, parseUsage } from './usage.ts';

/** The output formats. A new version never removes or changes a field of the JSON format. */
export const formats = {
  text: formatText,
  markdown: formatMarkdown,
  json: difference => `${JSON.stringify(difference, null, 2)}\n`,
  github: formatGithub,
  junit: formatJunit,
} as const satisfies Record<string, (difference: Difference, head: Source) => string>;
