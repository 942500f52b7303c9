import type { Transaction } from '../database/database.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { Extension, ExtensionContext, ExtensionOperations } from './extension.ts';
import { operationsIn, queriesOn } from './operations.ts';

export type ContextDependencies = Pick<ServerDependencies, 'config' | 'database' | 'clock' | 'logger' | 'audit'>;

/**
 * Builds the context that the code of an extension gets. Log lines, audit entries and jobs contain the extension's
 * name.
 */
export function buildContext(
  { config, database, clock, logger, audit }: ContextDependencies,
  { name, settings = {} }: Extension,
): ExtensionContext<Record<string, unknown>> {
  const bind = (transaction: Transaction) => operationsIn(transaction, name, { config, clock });
  const once = <T>(work: (operations: ExtensionOperations) => Promise<T>) =>
    database.transaction(transaction => work(bind(transaction)));
  return {
    ...queriesOn(database),
    settings,
    clock,
    logger: logger.child({ extension: name }),
    transaction: once,
    audit: (what, details = {}) => audit.record('extension.recorded', { extension: name, what, details }),
    createIdea: (...given) => once(operations => operations.createIdea(...given)),
    readIdea: (...given) => once(operations => operations.readIdea(...given)),
    commentOnIdea: (...given) => once(operations => operations.commentOnIdea(...given)),
    setIdeaStatus: (...given) => once(operations => operations.setIdeaStatus(...given)),
    castVote: (...given) => once(operations => operations.castVote(...given)),
    addJob: (...given) => once(operations => operations.addJob(...given)),
  };
}
