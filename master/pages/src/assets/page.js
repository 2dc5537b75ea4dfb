// Puts what the master says in place of what the page shows, part by part: fields keep their focus and text.
const events = document.body.dataset.events;
const lost = document.getElementById("lost");
const filter = document.getElementById("filter");
let heard = Date.now();
let broken = false;

function hear() {
  heard = Date.now();
  broken = false;
}

function narrow() {
  const words = filter ? filter.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
  for (const row of document.querySelectorAll("#scores tbody tr")) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
  }
}

function listen() {
  const source = new EventSource(events);
  source.addEventListener("state", (event) => {
    hear();
    for (const [id, html] of Object.entries(JSON.parse(event.data))) {
      const part = document.getElementById(id);
      if (part) part.innerHTML = html;
    }
    narrow();
  });
  source.addEventListener("alive", hear);
  source.addEventListener("error", () => { broken = true; });
  return source;
}

if (events) {
  let source = listen();
  if (filter) filter.addEventListener("input", narrow);
  setInterval(() => {
    // A connection that ended may be back at once; one that is open says something every second.
    const silent = Date.now() - heard > (broken ? 2500 : 4000);
    if (silent && lost.hidden) {
      lost.textContent = `No word from the master since ${new Date(heard).toLocaleTimeString()}; this page waits for it.`;
    }
    lost.hidden = !silent;
    // A browser gives up where the port was closed; the next master opens it again.
    if (silent && source.readyState === EventSource.CLOSED) source = listen();
  }, 500);
  // A hidden page holds no connection: a browser has few for one host.
  document.addEventListener("visibilitychange", () => {
    source.close();
    if (!document.hidden) source = listen();
  });
}
