import { operationRules } from './operation-rules.ts';
import { requestRules } from './request-rules.ts';
import { responseRules } from './response-rules.ts';
import type { Rule } from './rule.ts';

/** Every kind of change that is told of, by its id; docs/openapi-diff.md lists them. An id is never used for another. */
export const rules = { ...operationRules, ...requestRules, ...responseRules } as const satisfies Record<string, Rule>;

export type RuleId = keyof typeof rules;

/** The rules as the tables of docs/openapi-diff.md. */
export function renderRules(): string {
  return [
    table('### Operations, parameters, statuses, webhooks, security', operationRules),
    table('### What a client sends', requestRules),
    table('### What a client receives', responseRules),
  ].join('\n');
}

function table(heading: string, group: Readonly<Record<string, Rule>>): string {
  const rows = Object.entries(group).map(
    ([id, { level, when, action }]) => `| \`${id}\` | ${level} | ${when} | ${action} |`,
  );
  return `${heading}\n\n| rule | level | when, and why | what a client must do |\n|---|---|---|---|\n${rows.join('\n')}\n`;
}
