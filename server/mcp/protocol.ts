import { serverInfo } from './introduction.ts';
import type { Exchange, ProtocolAnswer } from './message.ts';
import { eraOfPlainCall, writePlainResult } from './plain-call.ts';
import type { Tool } from './tools.ts';

/**
 * Speaks the protocol in both of its eras, one message at a time and without sessions, so that any server can answer any
 * message. It knows neither tokens nor operations.
 */
export function buildProtocol(tools: ReadonlyMap<string, Tool>) {
  const definitions = [...tools.values()].map(({ definition }) => definition);

  return async (exchange: Exchange): Promise<ProtocolAnswer> => {
    const { message, runTool } = exchange;
    const era = runTool && eraOfPlainCall(exchange);
    if (era) {
      const body = writePlainResult(await runTool(), message.id, era, serverInfo);
      return { status: 200, contentType: 'application/json', body };
    }
    // The SDK takes 13 MB of memory: a server that no agent talks to has no use for it.
    const { answerWithSdk } = await import('./answer-with-sdk.ts');
    return answerWithSdk(definitions, exchange);
  };
}
