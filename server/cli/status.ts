import { statusCategories } from '../../contract/status.ts';
import {
  addStatus,
  listStatuses,
  removeStatus,
  requireStatus,
  type StatusListing,
  updateStatus,
} from '../domain/statuses/board-statuses.ts';
import { onBoard } from './choose.ts';
import { argument, given, noun, optional, parseBoolean, parsePositive, required } from './command.ts';
import { formatTable } from './output.ts';

const properties = {
  hidden: optional('<true|false>', 'whether default lists omit its ideas', { parse: parseBoolean }),
  allowVotes: optional('<true|false>', 'whether people can vote on its ideas', { parse: parseBoolean }),
  allowComments: optional('<true|false>', 'whether people can comment on its ideas', { parse: parseBoolean }),
  position: optional('<number>', 'the position in the registry, from 1', { parse: parsePositive }),
};

/**
 * Prints all statuses of the board after a change, because a change of one status can change the positions of other
 * statuses.
 */
const changeRegistry = onBoard.changing(listStatuses, formatStatuses);

export const addStatusCommands = noun('status', 'the status registry of a board', {
  add: changeRegistry({
    description: 'Adds a status to the registry of a board.',
    examples: ['status add --board web-app --key in_review --category active --label "In review" --position 3'],
    input: {
      key: required('<key>', 'the value in the API: lower-case letters, digits, hyphens and underscores'),
      category: required('<category>', 'the category', { choices: statusCategories }),
      label: required('<label>', 'the label for people'),
      ...properties,
    },
    change: (admin, board, { hidden: isHidden, ...status }) =>
      addStatus(admin, board, { ...status, ...given({ isHidden }) }),
  }),
  list: onBoard.operation({
    description: 'Lists the status registry of a board by position.',
    examples: ['status list --board web-app'],
    run: listStatuses,
    text: formatStatuses,
  }),
  update: changeRegistry({
    description: 'Changes a status and the ideas that have it. Omitted options stay unchanged.',
    examples: ['status update done --board web-app --label "Shipped" --allow-votes false'],
    input: {
      current: argument('<key>'),
      key: optional('<key>', 'another key; update the clients of the API'),
      category: optional('<category>', 'another category', { choices: statusCategories }),
      label: optional('<label>', 'another label'),
      ...properties,
    },
    async change(admin, board, { current, hidden: isHidden, ...changes }) {
      const status = await requireStatus(admin, board, current);
      await updateStatus(admin, status, { ...changes, ...given({ isHidden }) });
    },
  }),
  remove: changeRegistry({
    description:
      'Removes a status that no idea has. The last one of the category inbox cannot be removed: new ideas start there.',
    examples: ['status remove in_review --board web-app'],
    input: { key: argument('<key>') },
    change: async (admin, board, { key }) => removeStatus(admin, await requireStatus(admin, board, key)),
  }),
});

export function formatStatuses(statuses: StatusListing[]): string {
  return formatTable(
    statuses,
    ['#', 'position'],
    'key',
    'category',
    'label',
    'is_hidden',
    ['votes', 'allow_votes'],
    ['comments', 'allow_comments'],
  );
}
