import type { Finding } from './change.ts';
import { compareContents } from './compare-bodies.ts';
import { compareHeaders } from './compare-parameters.ts';
import { matchKeys, type Pair, type Place, tell } from './comparison.ts';
import { childOf, childrenOf, follow, type Located, type OpenApiDocument } from './document.ts';
import { isObject } from './json.ts';
import { quote } from './sentence.ts';

/** Compares the responses of an operation by status. For a webhook, compares the answers that its sender accepts. */
export function compareResponses(place: Place, operations: Pair): void {
  const { comparison, isReceived } = place;
  const had = responsesOf(comparison.base, operations.base);
  const has = responsesOf(comparison.head, operations.head);
  const around = {
    base: childOf(operations.base, 'responses') ?? operations.base,
    head: childOf(operations.head, 'responses') ?? operations.head,
  };
  for (const [status, was, is] of matchKeys(had, has)) {
    const there = placeOf(place, status);
    const [base, head] = [was ?? had.get(coverOf(had, status) ?? ''), is ?? has.get(coverOf(has, status) ?? '')];
    // A receiver of a webhook may answer with every status of a range. So single statuses cannot replace the range.
    const parts = isReceived ? [] : [...has].filter(([one]) => !had.has(one) && coverOf(had, one) === status);
    if (was) compareParts(place, was, parts, is !== undefined);
    // Does not compare a status that the class or `default` of the base document described, because compareParts
    // compares it.
    if (base && head && (was || isReceived)) compareResponse(there, { base, head });
    else if (!base && head) tellOfStatus(there, status, true, { base: around.base, head });
    else if (base && !head && parts.length === 0) tellOfStatus(there, status, false, { base, head: around.head });
  }
}

function tellOfStatus(place: Place, status: string, isAdded: boolean, pair: Pair): void {
  if (place.isReceived) {
    const message = `The answer ${status} is ${isAdded ? 'now' : 'no longer'} accepted.`;
    tell(place, isAdded ? 'webhook-answer-added' : 'webhook-answer-refused', message, pair);
  } else {
    const message = `The status ${status} is ${isAdded ? 'new' : 'gone'}.`;
    tell(place, isAdded ? 'response-status-added' : 'response-status-removed', message, pair);
  }
}

/**
 * Compares statuses that shared a response in the base document but have their own responses in the head document. The
 * shared response is for their class, such as 4XX, or the default. An error key counts as removed if the shared
 * response is gone and none of the new responses has the key.
 */
function compareParts(place: Place, cover: Located, parts: readonly [string, Located][], isCoverLeft: boolean): void {
  const { comparison } = place;
  const found = parts.map(([status, response]) => {
    const findings: Finding[] = [];
    const report = (finding: Finding) => findings.push(finding);
    const there = placeOf({ ...place, comparison: { ...comparison, report } }, status);
    compareResponse(there, { base: cover, head: response });
    return findings;
  });
  const isLost = ({ rule, message }: Finding) =>
    !isCoverLeft && found.every(findings => findings.some(one => one.rule === rule && one.message === message));
  for (const finding of found.flat()) {
    if (finding.rule !== 'error-key-removed' || isLost(finding)) comparison.report(finding);
  }
}

function placeOf(place: Place, status: string): Place {
  const isError = /^[45]/.test(status) || status === 'default';
  return { ...place, where: `${place.isReceived ? 'answer' : 'response'} ${status}`, isError };
}

function responsesOf(document: OpenApiDocument, operation: Located): Map<string, Located> {
  const listed = childrenOf(childOf(operation, 'responses')).filter(([status]) => !status.startsWith('x-'));
  return new Map(
    listed.map(([status, response]) => [
      status.toUpperCase().replace('DEFAULT', 'default'),
      follow(document, response),
    ]),
  );
}

/** Returns the key of the response for a status that has no own response: its class, such as 4XX, or the default. */
function coverOf(responses: ReadonlyMap<string, Located>, status: string): string | undefined {
  const range = `${status[0]}XX`;
  if (/^\d{3}$/.test(status) && responses.has(range)) return range;
  return responses.has('default') ? 'default' : undefined;
}

function compareResponse(place: Place, pair: Pair): void {
  const direction = place.isReceived ? 'request' : 'response';
  const [had, has] = [hasContent(pair.base), hasContent(pair.head)];
  if (had && has) compareContents(place, pair, direction);
  else if (had) tell(place, `${direction}-body-removed`, 'The body is gone.', pair);
  else if (has) tell(place, `${direction}-body-added`, 'The body is new.', pair);
  if (!place.isReceived) compareHeaders(place, pair);
  for (const [name, link] of childrenOf(childOf(pair.base, 'links'))) {
    if (childOf(childOf(pair.head, 'links'), name)) continue;
    tell(place, 'link-removed', `The link ${quote(name)} is gone.`, { base: link, head: pair.head });
  }
}

function hasContent(response: Located): boolean {
  const content = childOf(response, 'content')?.value;
  return isObject(content) && Object.keys(content).length > 0;
}
