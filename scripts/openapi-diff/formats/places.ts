import type { Change, Place } from '../change.ts';
import { nothingToDo } from '../rules/rule.ts';

/** How many places of a change are told of where people read; the JSON has them all. */
const mostPlaces = 5;

/** `GET /api/v1/ideas: response 200, data[].title` */
function textOfPlace({ operation, where, field }: Place): string {
  const parts = [where, field].filter(part => part !== '').join(', ');
  return (parts === '' ? operation : `${operation}: ${parts}`).replace(/\s+/g, ' ');
}

/** The places of a change, each once, and how many more there are. */
export function placesOf(change: Change): { shown: string[]; more: number } {
  const texts = [...new Set(change.places.map(textOfPlace))];
  return { shown: texts.slice(0, mostPlaces), more: Math.max(0, texts.length - mostPlaces) };
}

/** What is left to do stands behind what happened, where anything is. */
export function actionOf({ action }: Change): string {
  return action === nothingToDo ? '' : ` ${action}`;
}
