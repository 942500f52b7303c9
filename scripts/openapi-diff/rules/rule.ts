/**
 * The effect of a change on clients. `breaking`: a correct client stops working. `risky`: some clients may stop
 * working. `additive`: no client has to change.
 */
export const levels = ['breaking', 'risky', 'additive'] as const;
export type Level = (typeof levels)[number];

export interface Rule {
  level: Level;
  /** A description of the change, with the reason for its level. */
  when: string;
  action: string;
}

export const nothingToDo = 'Nothing to do.';

export const breaking = (when: string, action: string): Rule => ({ level: 'breaking', when, action });
export const risky = (when: string, action: string): Rule => ({ level: 'risky', when, action });
export const additive = (when: string, action = nothingToDo): Rule => ({ level: 'additive', when, action });
