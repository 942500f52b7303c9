/**
 * How much a change asks of clients. `breaking`: one that was right stops working. `risky`: one may stop working, by how
 * it was made. `additive`: none has to do anything.
 */
export const levels = ['breaking', 'risky', 'additive'] as const;
export type Level = (typeof levels)[number];

export interface Rule {
  level: Level;
  /** What is found, and why it has this level. */
  when: string;
  /** What a client must do, as a sentence. */
  action: string;
}

/** The action of rules by which no client is touched. */
export const nothingToDo = 'Nothing to do.';
