import { type Change, isUnused, type Place } from '../change.ts';
import type { Difference } from '../compare-documents.ts';
import { type Level, levels, nothingToDo } from '../rules.ts';
import { quote } from '../sentence.ts';

/** The maximum number of places of a change in output for people. The JSON output lists all places. */
const mostPlaces = 5;

/**
 * Formats a place as `GET /api/v1/ideas: response 200, data[].title`. If the number of clients that use the place is
 * known, adds this number.
 */
function textOfPlace({ operation, where, field, clients }: Place): string {
  const parts = [where, field].filter(part => part !== '').join(', ');
  const users = clients === undefined ? '' : ` (${clients} ${clients === 1 ? 'client' : 'clients'})`;
  return `${parts === '' ? operation : `${operation}: ${parts}`}${users}`.replace(/\s+/g, ' ');
}

/**
 * Lists the first distinct places of a change, one on each line. If there are more places, adds a note with their
 * number.
 */
export function placesOf(change: Change, bullet: string, mark = (place: string) => place): string {
  const texts = [...new Set(change.places.map(textOfPlace))];
  const shown = texts.slice(0, mostPlaces).map(mark);
  if (texts.length > mostPlaces) shown.push(`and ${texts.length - mostPlaces} more`);
  return shown.map(place => `${bullet}${place}\n`).join('');
}

/**
 * Writes the required action and the affected clients. For an accepted change, writes only why the change is accepted.
 */
export function actionOf(change: Change): string {
  const { action, accepted } = change;
  if (accepted !== undefined) return ` Accepted: ${accepted.replace(/\s+/g, ' ')}`;
  return `${action === nothingToDo ? '' : ` ${action}`}${usageOf(change)}`;
}

/** The maximum number of clients in output for people. The JSON output names all clients. */
const mostClients = 5;

/**
 * Writes which clients a change affects, or that it affects no client. Writes nothing if the affected clients are
 * unknown.
 */
export function usageOf({ affected }: Change): string {
  if (affected === undefined) return '';
  const { clients, lastUsedAt, since } = affected;
  if (clients.length === 0)
    return ` No client has used this${since === undefined ? '' : ` since ${since.slice(0, 10)}`}.`;
  const more = clients.length > mostClients ? ` and ${clients.length - mostClients} more` : '';
  // Quotes the names of the clients, because other people may have chosen these names.
  const names = clients.slice(0, mostClients).map(quote).join(', ');
  return ` Used by ${names}${more}, last on ${lastUsedAt?.slice(0, 10)}.`;
}

/** Returns the group of a change in the output: its level, or `unused` if the change affects no client. */
export function groupOf(change: Change): Level | 'unused' {
  return isUnused(change) && change.accepted === undefined ? 'unused' : change.level;
}

/** Summarizes the differences in a text such as `2 breaking, 1 additive; 3 descriptions or examples differ`. */
export function summarize({ counts, accepted, unused, descriptions }: Difference): string {
  const found = levels.filter(level => counts[level] > 0).map(level => `${counts[level]} ${level}`);
  if (unused > 0) found.push(`${unused} unused`);
  if (accepted > 0) found.push(`${accepted} accepted`);
  const changes = found.length > 0 ? found.join(', ') : 'No change that a client can see';
  if (descriptions === 0) return changes;
  return `${changes}; ${descriptions} ${descriptions === 1 ? 'description or example differs' : 'descriptions or examples differ'}`;
}
