// Numbers of a study as they change. Without this script the page shows those of when it was loaded.

const board = document.getElementById("dashboard");
const connection = document.getElementById("connection");

function show(now) {
  if (now.state !== board.dataset.state || (now.training ? "yes" : "no") !== board.dataset.training) {
    location.reload(); // buttons and sentences are the server's
    return;
  }
  for (const place of board.querySelectorAll("[data-live]")) {
    if (place.textContent !== now[place.dataset.live]) place.textContent = now[place.dataset.live];
  }
  document.getElementById("share").value = now.share;
  const rows = now.refused.map(([reason, number]) => {
    const row = document.createElement("tr");
    for (const [text, kind] of [[reason, ""], [number, "number"]]) {
      const cell = document.createElement("td");
      cell.textContent = text;
      cell.className = kind;
      row.append(cell);
    }
    return row;
  });
  document.getElementById("refused").replaceChildren(...rows);
  document.getElementById("refused-table").hidden = rows.length === 0;
  document.getElementById("refused-none").hidden = rows.length !== 0;
}

function say(sentence) {
  if (connection.textContent !== sentence) connection.textContent = sentence;
}

const stream = new EventSource(board.dataset.events);
stream.addEventListener("message", (event) => {
  say(board.dataset.state === "open" ? "These numbers change as people contribute." : "These numbers are up to date.");
  show(JSON.parse(event.data));
});
stream.addEventListener("end", () => {
  stream.close();
  say("Your session has ended: the numbers do not change any more. Load the page again to sign in.");
});
stream.addEventListener("error", () => {
  say(stream.readyState === EventSource.CLOSED
    ? "The numbers do not change any more. Load the page again, or sign in again."
    : "The connection was lost. Trying again …");
});
