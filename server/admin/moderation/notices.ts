/** What the pages of moderation say above all else, by the word in the address of the one to which a form led. */
export const notices = {
  approved: 'The idea is published.',
  approved_already: 'The idea was published already.',
  rejected: 'The idea is rejected, and its author is told why.',
  rejected_already: 'The idea was rejected already.',
  status_set: 'The status is set.',
  tag_added: 'The idea has the tag.',
  tag_removed: 'The tag is taken away.',
  merged: 'The ideas are merged.',
  unmerged: 'The merge is undone.',
  followed: 'You follow this idea now.',
  unfollowed: 'You follow this idea no more.',
  blocked: 'The person is blocked.',
  unblocked: 'The person is not blocked any more.',
} as const;

export type Notice = keyof typeof notices;
