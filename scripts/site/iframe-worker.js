// A page that is opened from a file may start no worker. The search of the site's theme then runs in a frame:
// the same calls as Worker has, as far as the theme uses them.
"use strict";
class FrameWorker extends EventTarget {
  constructor(address) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.body.appendChild(this.frame);
    const inside = this.frame.contentWindow;
    window.addEventListener("message", (event) => {
      if (event.source === inside) {
        const told = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(told);
        if (this.onmessage) this.onmessage(told);
      }
    });
    inside.document.open();
    inside.document.write(`<html><body><script>
      window.postMessage = (data) => parent.postMessage(data, "*");
      window.importScripts = (...all) => all.reduce((before, one) => before.then(() => new Promise((done) => {
        const script = document.createElement("script");
        script.src = one;
        script.onload = done;
        document.body.appendChild(script);
      })), Promise.resolve());
    <\/script><script src="${address}"><\/script></body></html>`);
    inside.document.close();
    this.ready = new Promise((done) => { inside.onload = done; }); // opening the document forgets listeners
  }
  postMessage(data) {
    const inside = this.frame.contentWindow;
    this.ready.then(() => inside.dispatchEvent(new MessageEvent("message", { data })));
  }
  terminate() { this.frame.remove(); }
}
window.IFrameWorker = FrameWorker;
if (location.protocol === "file:") window.Worker = FrameWorker;
