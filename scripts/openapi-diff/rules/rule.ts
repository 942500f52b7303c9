/**
 * The effect of a change on clients. `breaking`: a correct client stops working. `risky`: some clients may stop
 * working. `additive`: no client has to change.
 */
export const levels = ['breaking', 'risky', 'additive'] as const;
export type Level = (typeof levels)[number];

export interface Rule {
  level: Level;
  /** The change, and the reason for its level. */
  when: string;
  /** The client's next step, as a sentence. */
  action: string;
}

/** The action of additive rules. */
export const nothingToDo = 'Nothing to do.';
