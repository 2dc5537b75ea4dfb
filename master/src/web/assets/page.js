// Puts what the master says in place of what the page shows, part by part: fields keep their focus and text.
const events = document.body.dataset.events;
const lost = document.getElementById("lost");
const filter = document.getElementById("filter");
let heard = Date.now();

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
    heard = Date.now();
    for (const [id, html] of Object.entries(JSON.parse(event.data))) {
      const part = document.getElementById(id);
      if (part) part.innerHTML = html;
    }
    narrow();
  });
  source.addEventListener("alive", () => { heard = Date.now(); });
  return source;
}

if (events) {
  let source = listen();
  if (filter) filter.addEventListener("input", narrow);
  setInterval(() => {
    const silent = Date.now() - heard > 4000;
    if (silent && lost.hidden) {
      lost.textContent = `No word from the master since ${new Date(heard).toLocaleTimeString()}; this page waits for it.`;
    }
    lost.hidden = !silent;
    // A browser gives up where the port was closed; the next master opens it again.
    if (silent && source.readyState === EventSource.CLOSED) source = listen();
  }, 1000);
  // A hidden page holds no connection: a browser has few for one host.
  document.addEventListener("visibilitychange", () => {
    source.close();
    if (!document.hidden) source = listen();
  });
}
