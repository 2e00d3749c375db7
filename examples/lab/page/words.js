// The words of the library, and how each way to be answered looks.

// In the order in which they are listed; `mark` is the shape at the answer (marks.js).
export const HOWS = {
  hit: { word: "hit", mark: "ring", means: "A fresh stored value, at once." },
  loaded: { word: "loaded", mark: "diamond", means: "Leader: ran the load and got its value." },
  followed: { word: "followed", mark: "dot", means: "Follower: got what the leader of its process loaded." },
  waited: { word: "waited", mark: "up", means: "Waited for the load of another process, and got its value." },
  stale: { word: "stale", mark: "square", means: "A stale copy, while somebody else loads." },
  default: { word: "default", mark: "box", means: "The function’s default, at once or when the wait budget ran out." },
  failed: { word: "failed", mark: "cross", means: "An error: the load’s own, or a FlightError." },
  degraded: { word: "degraded", mark: "down", means: "Loaded without the backend, which was away; once for each process." },
  dropped: { word: "dropped", mark: "dash", means: "Never answered: the caller, or its process, was gone." },
  pending: { word: "not answered yet", mark: null, means: "Still waiting." },
};

export const howOf = (how) => HOWS[how] ?? { word: how, mark: "dot", means: "" };

// What DESIGN and ARCHITECTURE call things.
export const WORDS = [
  ["flight", "One coalesced execution for a key inside one process."],
  ["losers", "The callers that do not load. The policy says what they do instead: take a stale copy, wait, take the default, or fail."],
  ["leader, follower", "The caller that loads; a caller that awaits it in the same process."],
  ["load (fill)", "Running the function’s body: a read of the source. It is what a stampede has too many of."],
  ["connections", "How many loads the source runs at once; more of them queue for it."],
  ["spawn", "The load is run as a task of its own: it goes on when its caller goes away."],
  ["lease", "The time-limited right to load, granted by the backend to one process. It is renewed while the load runs."],
  ["grant", "One granting of a lease. Its token is compared by every renewal, publish and release."],
  ["entry", "The stored value, with a soft and a hard TTL."],
  ["soft TTL", "From here on the entry is stale, but may be served while one caller refreshes it."],
  ["hard TTL", "From here on the entry is gone."],
  ["early refresh, β", "Some caller refreshes the entry before its soft TTL ends. β says how early: 0 is never, 1 is usual, more is sooner."],
  ["publish", "One atomic step: compare the token, store the entry, end the lease, wake who waits."],
  ["refused, fenced", "A late publish whose token is no longer the current one stores nothing; its own caller is answered."],
  ["abandon", "The leader ends without a value and frees the lease."],
  ["takeover", "A waiter becomes leader because the lease ended unpublished."],
  ["wait budget", "The longest time a caller waits for others; then the time-out policy decides."],
  ["FlightError", "What a caller gets that neither loads nor gets a value: its leader failed, its wait budget ran out, or it was not to wait."],
  ["invalidate", "Remove the entry and void the lease, so that a load that runs cannot bring the old value back."],
  ["degraded", "The backend is away; each process still coalesces by itself."],
  ["duplicate load", "A load that began while another of the same key was under way; in the statistics, one whose publish was refused, or that ran without the lease."],
  ["p50, p99", "Half of the times, and 99 of 100, are no longer than this."],
  ["coalesced", "Calls that were answered without a load of their own, by somebody else’s."],
];
