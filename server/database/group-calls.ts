/** Two, so that PostgreSQL has one group to work on while the answer to another is on its way and being read. */
const maxUnderWay = 2;

/** So that the last of many calls waits for a few short statements and not for a long one. */
const maxGroupSize = 64;

/** A group that takes longer is stuck, on a lock or on a connection that has gone silent, and no longer counts. */
const patienceMs = 100;

interface Waiting<Call, Answer> {
  call: Call;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/**
 * Lets one trip to the database serve several calls: a call goes at once while few are under way; those that come
 * meanwhile go together when one is back. run answers a group in the order of its calls, and fails as a whole.
 */
export function groupCalls<Call, Answer>(run: (calls: Call[]) => Promise<Answer[]>): (call: Call) => Promise<Answer> {
  const waiting: Waiting<Call, Answer>[] = [];
  let underWay = 0;

  async function sendGroup() {
    const group = waiting.splice(0, maxGroupSize);
    if (group.length === 0) return;
    underWay++;
    const giveWay = once(() => {
      underWay--;
      sendGroup();
    });
    const timer = setTimeout(giveWay, patienceMs);
    try {
      const answers = await run(group.map(({ call }) => call));
      for (const [index, { resolve }] of group.entries()) resolve(answers[index] as Answer);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
    clearTimeout(timer);
    giveWay();
  }

  return call =>
    new Promise((resolve, reject) => {
      waiting.push({ call, resolve, reject });
      if (underWay < maxUnderWay) sendGroup();
    });
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}
