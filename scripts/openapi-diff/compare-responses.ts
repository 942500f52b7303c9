import type { Finding, Turns } from './change.ts';
import { compareHeaders } from './compare-parameters.ts';
import { childOf, childrenOf, exists, follow, type Located, nothingIn } from './document.ts';
import { isSame, quote } from './json.ts';
import { both, comparePresence, compareSchemaOf, matchParts, type Part, partAt, partsAt, tell } from './part.ts';
import type { Direction } from './schema/shape.ts';

const turnsOfRequestBodies: Turns = {
  removed: ['request-body-removed', 'The body is no longer accepted.'],
  optional: ['request-body-optional', 'The body is now optional.'],
  required: ['request-body-required', 'The body is now required.'],
  added: ['request-body-added', 'The optional body is new.'],
  addedRequired: ['request-body-required', 'A body is new and required.'],
};

const turnsOfWebhookBodies: Turns = {
  removed: ['webhook-body-removed', 'The body is gone.'],
  optional: ['webhook-body-optional', 'The body is now optional.'],
  required: ['webhook-body-added', 'The body is now required.'],
  added: ['webhook-body-added', 'The body is new.'],
};

export function compareRequestBodies(operation: Part): void {
  const { isReceived } = operation;
  const listed = { ...partAt(operation, 'requestBody'), where: isReceived ? 'body' : 'request body' };
  const body = comparePresence(listed, isReceived ? turnsOfWebhookBodies : turnsOfRequestBodies, '');
  if (body) compareContents(body, isReceived ? 'response' : 'request');
}

const turnsOfStatuses: Turns = {
  removed: ['response-status-removed', 'The status {} is gone.'],
  added: ['response-status-added', 'The status {} is new.'],
};

const turnsOfAnswers: Turns = {
  removed: ['webhook-answer-refused', 'The answer {} is no longer accepted.'],
  added: ['webhook-answer-added', 'The answer {} is now accepted.'],
};

/** Compares the responses of an operation by status, or the answers that the sender of a webhook accepts. */
export function compareResponses(operation: Part): void {
  const { isReceived } = operation;
  const around = partAt(operation, 'responses');
  const [had, has] = both(around, responsesOf);
  for (const [status, own] of matchParts(around, [had, has])) {
    const base = had.get(status) ?? had.get(coverOf(had, status) ?? '') ?? own.base;
    const head = has.get(status) ?? has.get(coverOf(has, status) ?? '') ?? own.head;
    const there = partOf({ ...own, base, head }, status);
    // For a webhook, `parts` is empty. The receiver may answer with every status of a range, so single statuses cannot
    // replace the range.
    const parts = isReceived ? [] : [...has].filter(([one]) => !had.has(one) && coverOf(had, one) === status);
    if (had.has(status)) compareSplit(own, parts);
    // Skips a status that only the head document lists if a response in the base document, such as 4XX, includes this
    // status. compareSplit() compares such a status.
    if (exists(base) && exists(head)) {
      if (had.has(status) || isReceived) compareResponse(there);
    } else if (exists(head) || parts.length === 0) {
      comparePresence(there, isReceived ? turnsOfAnswers : turnsOfStatuses, status);
    }
  }
}

/**
 * Compares statuses that shared a response in the base document but have their own responses in the head document. The
 * shared response is for a range such as 4XX, or the default response. An error key counts as removed if the shared
 * response is gone and none of the new responses has the key.
 */
function compareSplit(cover: Part, parts: readonly [string, Located][]): void {
  const found = parts.map(([status, head]) => {
    const findings: Finding[] = [];
    const report = (finding: Finding) => findings.push(finding);
    compareResponse(partOf({ ...cover, head, report }, status));
    return findings;
  });
  const isLost = ({ rule, message }: Finding) =>
    !exists(cover.head) && found.every(findings => findings.some(one => one.rule === rule && one.message === message));
  for (const finding of found.flat()) {
    if (finding.rule !== 'error-key-removed' || isLost(finding)) cover.report(finding);
  }
}

function partOf(part: Part, status: string): Part {
  const isError = /^[45]/.test(status) || status === 'default';
  return { ...part, where: `${part.isReceived ? 'answer' : 'response'} ${status}`, isError };
}

function responsesOf(responses: Located): Map<string, Located> {
  const listed = childrenOf(responses).filter(([status]) => !status.startsWith('x-'));
  return new Map(listed.map(([status, one]) => [status.toUpperCase().replace('DEFAULT', 'default'), follow(one)]));
}

/** Returns the response for a status without its own response: the range of the status, such as 4XX, or `default`. */
function coverOf(responses: ReadonlyMap<string, Located>, status: string): string | undefined {
  const range = `${status[0]}XX`;
  if (/^\d{3}$/.test(status) && responses.has(range)) return range;
  return responses.has('default') ? 'default' : undefined;
}

function compareResponse(part: Part): void {
  const direction = part.isReceived ? 'request' : 'response';
  const [had, has] = both(part, response => childrenOf(childOf(response, 'content')).length > 0);
  if (had && has) compareContents(part, direction);
  else if (had) tell(part, `${direction}-body-removed`, 'The body is gone.');
  else if (has) tell(part, `${direction}-body-added`, 'The body is new.');
  if (!part.isReceived) compareHeaders(part);
  for (const [name, link] of partsAt(part, 'links')) {
    if (!exists(link.head)) tell(link, 'link-removed', `The link ${quote(name)} is gone.`);
  }
}

function compareContents(body: Part, direction: Direction): void {
  const { isReceived } = body;
  const ruleOf = (turn: 'removed' | 'added') =>
    isReceived && direction === 'response'
      ? 'webhook-media-type-changed'
      : (`${direction}-media-type-${turn}` as const);
  const turns: Turns = {
    removed: [ruleOf('removed'), 'The media type {} is gone.'],
    added: [ruleOf('added'), 'The media type {} is new.'],
  };
  const [had, has] = both(body, contentsOf);
  const left = new Map(has);
  for (const [type, base] of had) {
    const other = has.has(type) ? type : [...has.keys()].find(one => isWithin(direction, type, one));
    left.delete(other ?? '');
    const there = { ...body, base, head: has.get(other ?? '') ?? nothingIn(body.head) };
    const media = comparePresence(there, turns, quote(type));
    if (media)
      compareMedia(type === 'application/json' ? media : { ...media, where: `${body.where} as ${type}` }, direction);
  }
  for (const [type, head] of left) comparePresence({ ...body, base: nothingIn(body.base), head }, turns, quote(type));
}

function compareMedia(media: Part, direction: Direction): void {
  compareSchemaOf(partAt(media, 'schema'), 'the body', direction);
  compareSchemaOf(partAt(media, 'itemSchema'), 'an item of the body', direction);
  const isOther = (key: string) => !isSame(...both(media, node => childOf(node, key).value));
  if (['encoding', 'prefixEncoding', 'itemEncoding'].some(isOther)) {
    tell(media, 'encoding-changed', 'The encoding of the parts of the body changed.');
  }
}

/** Lists contents by normalized media type: in lower case, without spaces and without charset=utf-8. */
function contentsOf(body: Located): Map<string, Located> {
  const nameOf = (type: string) => type.toLowerCase().replace(/\s+|;\s*charset\s*=\s*"?utf-8"?/g, '');
  return new Map(childrenOf(childOf(body, 'content')).map(([type, media]) => [nameOf(type), media]));
}

/**
 * Whether a changed media type is safe: the head document accepts the old type of a request, or the base document
 * announces the new type of a response. A range such as `image/*` includes many types.
 */
function isWithin(direction: Direction, base: string, head: string): boolean {
  const [type, range] = direction === 'request' ? [base, head] : [head, base];
  return range === '*/*' || (range.endsWith('/*') && type.startsWith(range.slice(0, -1)));
}
