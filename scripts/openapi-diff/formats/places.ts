import type { Change, Place } from '../change.ts';
import { nothingToDo } from '../rules/rule.ts';

/** The maximum number of places in output for people. The JSON output lists all places. */
const mostPlaces = 5;

/** Formats a place as `GET /api/v1/ideas: response 200, data[].title`. */
function textOfPlace({ operation, where, field }: Place): string {
  const parts = [where, field].filter(part => part !== '').join(', ');
  return (parts === '' ? operation : `${operation}: ${parts}`).replace(/\s+/g, ' ');
}

/** Returns the first distinct places of a change, and the number of further places. */
export function placesOf(change: Change): { shown: string[]; more: number } {
  const texts = [...new Set(change.places.map(textOfPlace))];
  return { shown: texts.slice(0, mostPlaces), more: Math.max(0, texts.length - mostPlaces) };
}

/** Writes the required action of a change, or why it is accepted. Writes nothing if no action is needed. */
export function actionOf({ action, accepted }: Change): string {
  if (accepted !== undefined) return ` Accepted: ${accepted.replace(/\s+/g, ' ')}`;
  return action === nothingToDo ? '' : ` ${action}`;
}
