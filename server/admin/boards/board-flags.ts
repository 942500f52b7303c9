/** What is to be known of a board at a glance, as chips. */
export interface Flag {
  label: string;
  chip: string;
}

/** From when until when; null, and undefined, for no bound. */
export interface Window {
  openAt?: Date | null | undefined;
  closeAt?: Date | null | undefined;
}

interface FlaggedBoard {
  isFrozen: boolean;
  isPublic: boolean;
  preModeration: boolean;
  submissions: Window;
  voting: Window;
}

export function flagsOf(board: FlaggedBoard, now: Date): Flag[] {
  return [
    ...(board.isFrozen ? [{ label: 'Frozen', chip: 'chip-declined' }] : []),
    ...flagsOfWindow('Submissions', board.submissions, now),
    ...flagsOfWindow('Voting', board.voting, now),
    ...(board.preModeration ? [{ label: 'Pre-moderated', chip: 'chip-outline' }] : []),
    { label: board.isPublic ? 'Public' : 'For members', chip: 'chip-outline' },
  ];
}

/** As check-board.ts decides it: the opening belongs to the window, the closing does not. */
export function stateOfWindow({ openAt, closeAt }: Window, now: Date): 'not open yet' | 'open' | 'closed' {
  if (openAt && now < openAt) return 'not open yet';
  return closeAt && now >= closeAt ? 'closed' : 'open';
}

function flagsOfWindow(what: string, window: Window, now: Date): Flag[] {
  const state = stateOfWindow(window, now);
  return state === 'open' ? [] : [{ label: `${what} ${state}`, chip: 'chip-active' }];
}
