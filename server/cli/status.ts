import { statusCategories } from '../../contract/status.ts';
import {
  addStatus,
  listStatuses,
  removeStatus,
  requireStatus,
  type StatusListing,
  updateStatus,
} from '../domain/statuses/board-statuses.ts';
import { changesOnBoard, onBoard } from './choose.ts';
import { argument, given, noun, operation, optional, parseBoolean, parsePositive, required } from './command.ts';
import { formatTable } from './output.ts';

const properties = {
  hidden: optional('<true|false>', 'leave its ideas out of lists that do not ask for them', { parse: parseBoolean }),
  allowVotes: optional('<true|false>', 'whether its ideas can be voted on', { parse: parseBoolean }),
  allowComments: optional('<true|false>', 'whether its ideas can be commented on', { parse: parseBoolean }),
  position: optional('<number>', 'its place in the registry, from 1', { parse: parsePositive }),
};

/** Every verb answers with the whole registry: a change of one moves others. */
const changeRegistry = changesOnBoard(listStatuses);

export const addStatusCommands = noun('status', 'the status registry of a board: where ideas can stand', {
  add: operation({
    description: 'Adds a status to the registry of a board.',
    examples: ['status add --board web-app --key in_review --category active --label "In review" --position 3'],
    input: {
      ...onBoard,
      key: required('<key>', 'its value in the API: lower-case letters, digits, hyphens and underscores'),
      category: required('<category>', 'what it counts as', { choices: statusCategories }),
      label: required('<label>', 'what people read'),
      ...properties,
    },
    run: (admin, { account, board: slug, hidden: isHidden, ...status }) =>
      changeRegistry(admin, given({ account, board: slug }), board =>
        addStatus(admin, board, { ...status, ...given({ isHidden }) }),
      ),
    text: formatStatuses,
  }),
  list: operation({
    description: 'Lists the status registry of a board, in its order.',
    examples: ['status list --board web-app'],
    input: onBoard,
    run: (admin, named) => changeRegistry(admin, named, async () => {}),
    text: formatStatuses,
  }),
  update: operation({
    description: 'Changes a status; the ideas in it follow. What is not given stays as it is.',
    examples: ['status update done --board web-app --label "Shipped" --allow-votes false'],
    input: {
      current: argument('<key>'),
      ...onBoard,
      key: optional('<key>', 'another key; clients of the API have to use it, too'),
      category: optional('<category>', 'what it counts as', { choices: statusCategories }),
      label: optional('<label>', 'another label'),
      ...properties,
    },
    run: (admin, { current, account, board: slug, hidden: isHidden, ...changes }) =>
      changeRegistry(admin, given({ account, board: slug }), async board => {
        const status = await requireStatus(admin, board, current);
        await updateStatus(admin, status, { ...changes, ...given({ isHidden }) });
      }),
    text: formatStatuses,
  }),
  remove: operation({
    description: 'Removes a status that no idea has. The last one of the category inbox stays: new ideas start there.',
    examples: ['status remove in_review --board web-app'],
    input: { key: argument('<key>'), ...onBoard },
    run: (admin, { key, ...named }) =>
      changeRegistry(admin, named, async board => removeStatus(admin, await requireStatus(admin, board, key))),
    text: formatStatuses,
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
