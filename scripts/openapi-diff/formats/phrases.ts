import type { Change, Place } from '../change.ts';
import type { Difference } from '../compare-documents.ts';
import { levels, nothingToDo } from '../rules.ts';

/** The maximum number of places in output for people. The JSON output lists all places. */
const mostPlaces = 5;

/** Formats a place as `GET /api/v1/ideas: response 200, data[].title`. */
function textOfPlace({ operation, where, field }: Place): string {
  const parts = [where, field].filter(part => part !== '').join(', ');
  return (parts === '' ? operation : `${operation}: ${parts}`).replace(/\s+/g, ' ');
}

/** Lists the first distinct places of a change, each on a line of its own, and a note about further places. */
export function placesOf(change: Change, bullet: string, quote = (place: string) => place): string {
  const texts = [...new Set(change.places.map(textOfPlace))];
  const shown = texts.slice(0, mostPlaces).map(quote);
  if (texts.length > mostPlaces) shown.push(`and ${texts.length - mostPlaces} more`);
  return shown.map(place => `${bullet}${place}\n`).join('');
}

/** Writes the required action of a change, or why it is accepted. Writes nothing if no action is needed. */
export function actionOf({ action, accepted }: Change): string {
  if (accepted !== undefined) return ` Accepted: ${accepted.replace(/\s+/g, ' ')}`;
  return action === nothingToDo ? '' : ` ${action}`;
}

/** Summarizes the differences: `2 breaking, 1 additive; 3 descriptions or examples differ`. */
export function summarize({ counts, accepted, descriptions }: Difference): string {
  const found = levels.filter(level => counts[level] > 0).map(level => `${counts[level]} ${level}`);
  if (accepted > 0) found.push(`${accepted} accepted`);
  const changes = found.length > 0 ? found.join(', ') : 'No change that a client can see';
  if (descriptions === 0) return changes;
  return `${changes}; ${descriptions} ${descriptions === 1 ? 'description or example differs' : 'descriptions or examples differ'}`;
}
