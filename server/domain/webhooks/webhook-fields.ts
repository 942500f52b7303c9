import { type EventType, eventTypes } from '../../../contract/events.ts';
import { type AddressGuard, problemOfUrl } from '../../outgoing/address-guard.ts';
import { AdministrationError } from '../administration.ts';
import { quote } from '../fields.ts';

const maxUrlLength = 2_000;

/**
 * The URL of an endpoint, as it is written. With a guard, an address that may never be reached is refused; where a name
 * leads is seen when it is connected to.
 */
export function checkWebhookUrl(value: string, guard?: AddressGuard): string {
  const url = value.trim();
  const problem = url.length > maxUrlLength ? `must have at most ${maxUrlLength} characters` : problemOfUrl(url, guard);
  if (problem) throw new AdministrationError('invalid', `The URL ${quote(url)} ${problem}`);
  return url;
}

/** The types of events that an endpoint wants; none named are all of them. */
export function checkEventTypes(values: readonly string[]): EventType[] {
  const unknown = values.find(value => !eventTypes.includes(value as EventType));
  if (unknown !== undefined) {
    throw new AdministrationError(
      'invalid',
      `There is no event type ${quote(unknown)}; there are ${eventTypes.join(', ')}`,
    );
  }
  return [...new Set(values as EventType[])];
}

export const maxDescriptionLength = 200;
