import { type Change, type Difference, isUnused, type Place } from '../change.ts';
import { quote } from '../json.ts';
import { type Level, nothingToDo } from '../rules.ts';

export function formatText(difference: Difference): string {
  const head = `${difference.base} -> ${difference.head}\n${summarize(difference)}\n`;
  return [head, ...difference.changes.map(formatChange)].join('\n');
}

function formatChange(change: Change): string {
  const { rule, message, base, head } = change;
  const places = placesOf(change, '  - ');
  return `${groupOf(change).padEnd(8)}  ${rule}\n  ${message}${actionOf(change)}\n${places}  base ${base}\n  head ${head}\n`;
}

/** Summarizes the differences in a text such as `2 breaking, 1 additive; 3 descriptions or examples differ`. */
export function summarize({ counts, accepted, unused, descriptions }: Difference): string {
  const numbers = Object.entries({ ...counts, unused, accepted }).filter(([, count]) => count > 0);
  const changes = numbers.map(([name, count]) => `${count} ${name}`).join(', ') || 'No change that a client can see';
  if (descriptions === 0) return changes;
  return `${changes}; ${descriptions} ${descriptions === 1 ? 'description or example differs' : 'descriptions or examples differ'}`;
}

/** Returns the group of a change in the output: its level, or `unused` if the change affects no client. */
export function groupOf(change: Change): Level | 'unused' {
  return isUnused(change) && change.accepted === undefined ? 'unused' : change.level;
}

/** The maximum numbers of places and of clients of a change in output for people. The JSON output lists all of them. */
const [mostPlaces, mostClients] = [5, 5];

/** Lists the first distinct places of a change, one on each line, and the number of further places. */
export function placesOf(change: Change, bullet: string, mark = (place: string) => place): string {
  const texts = [...new Set(change.places.map(textOfPlace))];
  const shown = texts.slice(0, mostPlaces).map(mark);
  if (texts.length > mostPlaces) shown.push(`and ${texts.length - mostPlaces} more`);
  return shown.map(place => `${bullet}${place}\n`).join('');
}

/** Formats a place, such as `GET /api/v1/ideas: response 200, data[].title (2 clients)`. */
function textOfPlace({ operation, where, field, clients }: Place): string {
  const parts = [where, field].filter(part => part !== '').join(', ');
  const users = clients === undefined ? '' : ` (${clients} ${clients === 1 ? 'client' : 'clients'})`;
  return `${parts === '' ? operation : `${operation}: ${parts}`}${users}`.replace(/\s+/g, ' ');
}

/** Writes the required action and the affected clients, or why the change is accepted. */
export function actionOf(change: Change): string {
  const { action, accepted } = change;
  if (accepted !== undefined) return ` Accepted: ${accepted.replace(/\s+/g, ' ')}`;
  return `${action === nothingToDo ? '' : ` ${action}`}${usageOf(change)}`;
}

/** Writes which clients a change affects. Writes nothing if the affected clients are unknown. */
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
