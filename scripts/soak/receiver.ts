import { Webhook } from 'standardwebhooks';
import { startReceiver } from '../../test/helpers/receiver.ts';

export type Receiver = Awaited<ReturnType<typeof startWebhookReceiver>>;

/** Starts a webhook receiver that checks each signature and counts the deliveries by event id. */
export async function startWebhookReceiver() {
  let webhook: Webhook | undefined;
  const arrivals = new Map<string, number>();
  const faults: string[] = [];
  const { url, close } = await startReceiver((response, { headers, body }) => {
    const id = String(headers['webhook-id']);
    try {
      webhook?.verify(body, headers);
      arrivals.set(id, (arrivals.get(id) ?? 0) + 1);
    } catch (error) {
      faults.push(`The webhook ${id} has a wrong signature: ${(error as Error).message}`);
    }
    response.writeHead(204).end();
  });
  return {
    url: `${url}/`,
    trust(secret: string) {
      webhook = new Webhook(secret);
    },
    arrivals,
    count: () => [...arrivals.values()].reduce((sum, count) => sum + count, 0),
    faults,
    close,
  };
}
