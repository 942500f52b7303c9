import type { EventType } from '../../../contract/events.ts';
import { fieldOf } from './form-fields.ts';

/** A type of event that can be ticked in a form. */
export interface EventChoice {
  field: string;
  type: EventType;
  label: string;
  isChosen: boolean;
}

const labels: Record<EventType, string> = {
  'idea.created': 'An idea is published',
  'idea.status_changed': 'An idea moves to another status',
  'idea.merged': 'An idea is merged into another one',
  'idea.unmerged': 'A merge is undone',
  'idea.voted': 'A vote is cast, changed or withdrawn',
  'comment.created': 'A comment is added',
};

export function eventChoices(types: readonly EventType[], chosen: readonly string[]): EventChoice[] {
  return types.map(type => ({
    field: fieldOfType(type),
    type,
    label: labels[type],
    isChosen: chosen.includes(type),
  }));
}

/** The types that were ticked. */
export function readEventChoices(body: unknown, types: readonly EventType[]): EventType[] {
  return types.filter(type => fieldOf(body, fieldOfType(type)) !== '');
}

function fieldOfType(type: EventType): string {
  return `event_${type}`;
}
