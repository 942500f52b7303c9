import { type Lane, laneKey } from '../../domain/webhooks/wake-lanes.ts';

/**
 * Decides which lanes one process sends from at the same time. A hanging receiver holds a slot for ten seconds, so nobody
 * may hold many slots with receivers that hang:
 *
 * - An account has `accountShare` slots, which is half of them.
 * - An endpoint has one slot. It has eight, one for each lane, while it answers within `quickMs`.
 * - All endpoints of an account that have not proved quick share a third of its slots. The rest is for its quick ones.
 *
 * A lane without a slot waits in the memory of the process. It waits only while another lane of its account has a slot,
 * and so while a job is locked. When a process dies, the process that frees its jobs wakes every lane with a due delivery.
 *
 * Each process counts its own slots. Two processes give a slow endpoint two slots, but a failing one has a single try in
 * all processes, by `probed_until`.
 */
export interface DeliverySlots {
  /** Takes a slot, or remembers that the lane waits for one and answers false. */
  take(lane: Lane): boolean;
  /** Whether a lane was refused a slot and has not been woken since. */
  isWaiting(lane: Lane): boolean;
  /** Notes that a delivery is under way. */
  begin(lane: Lane): void;
  /** Notes how the delivery ended. Answers the lanes to wake: they can have a slot now. */
  end(lane: Lane, isQuick: boolean): Lane[];
  /** Whether a lane may send its next delivery. If not, the lane waits from now on. */
  keep(lane: Lane): boolean;
  /** Gives the slot back. Answers the lanes to wake: they can have a slot now. */
  release(lane: Lane): Lane[];
}

interface TakenSlot {
  lane: Lane;
  /** When its delivery began; undefined between two deliveries. */
  sendingSince: number | undefined;
}

/** Forgetting an endpoint costs it nothing but a single delivery at first. */
const maxRemembered = 10_000;

export function buildDeliverySlots(accountShare: number, quickMs: number): DeliverySlots {
  const unprovenShare = Math.max(1, Math.floor(accountShare / 3));
  const taken = new Map<string, TakenSlot>();
  const waiting = new Map<string, Lane>();
  /** When an endpoint last answered quickly; undefined if its last answer was late, a failure or none. */
  const quickAt = new Map<number, number | undefined>();

  /** A single late answer among quick ones does not make an endpoint slow. */
  function isQuick(endpointId: number): boolean {
    const lastQuick = quickAt.get(endpointId);
    if (lastQuick === undefined) return false;
    const limit = performance.now() - quickMs;
    if (lastQuick > limit) return true;
    return !taken.values().some(one => one.lane.endpointId === endpointId && (one.sendingSince ?? limit) < limit);
  }

  function hasRoom({ accountId, endpointId }: Lane, woken: Lane[] = []): boolean {
    const ofAccount = taken.values().filter(({ lane }) => lane.accountId === accountId);
    const lanes = [...ofAccount.map(({ lane }) => lane), ...woken];
    if (lanes.length >= accountShare) return false;
    if (isQuick(endpointId)) return true;
    const unproven = lanes.filter(one => !isQuick(one.endpointId));
    return unproven.length < unprovenShare && !lanes.some(one => one.endpointId === endpointId);
  }

  function wait(lane: Lane): false {
    // A lane that waits already keeps its place.
    waiting.set(laneKey(lane), lane);
    return false;
  }

  /** Endpoints whose last answer was late or a failure come last. */
  function wakeWaiting(accountId: number): Lane[] {
    const isLate = ({ endpointId }: Lane) => Number(quickAt.has(endpointId) && !isQuick(endpointId));
    const candidates = [...waiting.values().filter(lane => lane.accountId === accountId)];
    // Another process may take the jobs of the woken lanes. So no lane may be left behind when no slot is taken here, and
    // as few as possible when only endpoints that may hang hold slots: their slots stay taken for long.
    const holders = [...taken.values().filter(({ lane }) => lane.accountId === accountId)];
    const isLast = holders.length === 0;
    const mayHang = !holders.some(({ lane }) => isQuick(lane.endpointId));
    const woken: Lane[] = [];
    for (const lane of candidates.sort((a, b) => isLate(a) - isLate(b))) {
      const isSpare = mayHang && woken.length < accountShare && hasRoom(lane);
      if (!isLast && !isSpare && !hasRoom(lane, woken)) continue;
      waiting.delete(laneKey(lane));
      woken.push(lane);
    }
    return woken;
  }

  return {
    take(lane) {
      if (!hasRoom(lane)) return wait(lane);
      const key = laneKey(lane);
      waiting.delete(key);
      taken.set(key, { lane, sendingSince: undefined });
      return true;
    },
    isWaiting: lane => waiting.has(laneKey(lane)),
    begin(lane) {
      const slot = taken.get(laneKey(lane));
      if (slot) slot.sendingSince = performance.now();
    },
    end(lane, isQuickAnswer) {
      const slot = taken.get(laneKey(lane));
      if (!slot) return [];
      slot.sendingSince = undefined;
      const { endpointId } = lane;
      const wasQuick = isQuick(endpointId);
      if (quickAt.size >= maxRemembered && !quickAt.has(endpointId)) quickAt.clear();
      quickAt.set(endpointId, isQuickAnswer ? performance.now() : undefined);
      return isQuickAnswer && !wasQuick ? wakeWaiting(lane.accountId) : [];
    },
    keep(lane) {
      const slot = taken.get(laneKey(lane));
      if (!slot) return false;
      const { endpointId } = lane;
      const isAlone = !taken.values().some(one => one !== slot && one.lane.endpointId === endpointId);
      return isAlone || isQuick(endpointId) || wait(lane);
    },
    release(lane) {
      const key = laneKey(lane);
      const slot = taken.get(key);
      taken.delete(key);
      return slot ? wakeWaiting(lane.accountId) : [];
    },
  };
}
