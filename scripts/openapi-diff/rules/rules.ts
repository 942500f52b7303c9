import { operationRules } from './operation-rules.ts';
import { requestRules } from './request-rules.ts';
import { responseRules } from './response-rules.ts';
import type { Rule } from './rule.ts';

/** All rules by id. docs/openapi-diff.md lists them. The id of a removed rule is never reused. */
export const rules = { ...operationRules, ...requestRules, ...responseRules };

export type RuleId = keyof typeof rules;

export function renderRules(): string {
  return [
    table('### Operations, parameters, statuses, webhooks, security', operationRules),
    table('### Requests', requestRules),
    table('### Responses', responseRules),
  ].join('\n');
}

function table(heading: string, group: Readonly<Record<string, Rule>>): string {
  const rows = Object.entries(group).map(
    ([id, { level, when, action }]) => `| \`${id}\` | ${level} | ${when} | ${action} |`,
  );
  return `${heading}\n\n| rule | level | change | client's next step |\n|---|---|---|---|\n${rows.join('\n')}\n`;
}
