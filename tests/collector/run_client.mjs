/** Runs the browser's client over a job, in node or in a browser, and tells what came out: plain JSON, no judgement. */

const big = (words) => words.map((word) => BigInt(`0x${word}`));

/** What a function gives, or why it refused; any other error is one of the client. */
function outcome(client, task) {
  try {
    return task();
  } catch (error) {
    if (error instanceof client.Refused) return { refused: error.reason, sentence: error.message };
    throw error;
  }
}

function drawn(client, { words, count, ratio }) {
  const source = client.forcedSource(big(words));
  return { whole: client.whole(source, count, ratio).map(String), left: source.left() };
}

function submitted(client, facts, { answers, target, words }) {
  const study = client.prepare(facts);
  const source = client.forcedSource(big(words));
  const noise = study.draw(source);
  const submission = study.submission(answers, target, noise);
  const { q, p } = study.exact(answers, target);
  const zeros = [...q, ...p].some((value) => Object.is(value, -0)); // JSON does not tell
  return { exact: { q, p }, zeros, submission, content: study.content(submission), left: source.left() };
}

/** Client: all exports of its modules in one object. */
export function run(client, job) {
  const each = (list, task) => (list ?? []).map((entry) => outcome(client, () => task(entry)));
  return {
    draws: each(job.draws, (entry) => drawn(client, entry)),
    studies: (job.studies ?? []).map(({ facts, cases }) => each(cases, (entry) => submitted(client, facts, entry))),
    epsilons: each(job.epsilons, ({ facts, delta }) => client.recordEpsilon(facts, delta)),
    confirmed: each(job.confirmed, ({ facts, stated }) => client.confirmRecord(facts, stated)),
    deltas: each(job.deltas, ([mu, epsilon]) => client.gaussianDelta(mu, epsilon)),
    scores: each(job.scores, ({ facts, model, answers }) => client.score(facts, model, answers)),
    prepared: each(job.prepared, (facts) => (client.prepare(facts), true)),
    exponentials: each(job.exponentials, (whole) => {
      const { mantissa, halvings } = client.expNegative(...whole.map(BigInt));
      return { mantissa: String(mantissa), halvings: Number(halvings) };
    }),
    hashes: each(job.hashes, ({ size, key, person, message }) =>
      client.blake2b(Uint8Array.from(message), { size, key: Uint8Array.from(key), person: Uint8Array.from(person) }),
    ),
  };
}

/** Whole numbers by the browser's own generator. */
export function fresh(client, { count, ratio }) {
  return client.whole(client.systemSource(), count, ratio).map(Number);
}
