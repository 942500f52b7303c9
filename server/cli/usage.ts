import { readUsage } from '../domain/usage/read-usage.ts';
import { operation } from './command.ts';
import { formatTable } from './output.ts';

export const addUsageCommand = operation({
  description:
    'Lists the operations, parameters and body fields that the tokens of all accounts have used in the last 90 days. With --json it prints the document for openapi-diff --usage.',
  examples: ['usage', 'usage --json'],
  input: {},
  run: admin => readUsage(admin, admin.now),
  text: ({ uses, is_complete }) => {
    const table = formatTable(
      uses,
      'client',
      'operation',
      'requests',
      'last_used_at',
      ['parameters', ({ parameters }) => parameters.join(', ')],
      ['fields', ({ fields }) => fields.join(', ')],
    );
    return is_complete ? table : `${table}\n\nThe list has only the latest uses.`;
  },
});
