// Simulated browsers: the collector's own client perturbs each record, one draw a person, and sends it over HTTP.
// node collector_browser.mjs ADDRESS STUDY CLIENT.js < people.json      (Chromium is given the function as text)

export async function contribute({ client, address, study, people }) {
  const { prepare, systemSource } = await import(client);
  const about = await (await fetch(`${address}/api/studies/${study}`)).json();
  const ready = prepare(about.facts);
  const source = systemSource();
  const statuses = {};
  const sent = [];
  const waiting = people.slice();
  async function visit() {
    for (let person = waiting.pop(); person; person = waiting.pop()) {
      const submission = ready.submission(person.answers, person.target, ready.draw(source));
      sent.push(submission);
      const body = JSON.stringify({ invitation: person.code, submission });
      const answer = await fetch(`${address}/api/studies/${study}/submissions`, { method: "POST", body });
      await answer.text();
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
    }
  }
  await Promise.all(Array.from({ length: 16 }, visit));
  return { statuses, sent };
}

if (typeof process !== "undefined" && process.argv[2]) {
  const parts = [];
  for await (const part of process.stdin) parts.push(part);
  const [address, study, client] = process.argv.slice(2);
  console.log(JSON.stringify(await contribute({ client, address, study, people: JSON.parse(parts.join("")) })));
}
