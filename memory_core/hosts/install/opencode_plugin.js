// memory-core: notes that a message calls to mind are shown beside it, turns are kept at their end, and before opencode compacts a
// session, a copy of it saves what should last. Written by `memory-core install opencode`.
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"

const COMMAND = ["memory-core", "hook", "opencode"]
const RECALL_MILLISECONDS = 10_000
const KEPT_MESSAGES = 40 // at the end of a session, among which memory-core knows the new ones

// Hand an event to memory-core, and wait until it has been dealt with; returns its answer, and fails where that cannot be.
const tell = (event, cwd, timeout) =>
  new Promise((resolve, reject) => {
    const child = spawn(COMMAND[0], COMMAND.slice(1), { cwd, timeout, stdio: ["pipe", "pipe", "ignore"] })
    let said = ""
    child.stdout.setEncoding("utf8").on("data", (piece) => (said += piece))
    child.on("error", reject)
    child.on("close", () => resolve(said))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(event))
  })

export const MemoryCore = async ({ client, directory }) => {
  if (process.env.MEMORY_CORE_SAVING) return {} // this is a copy
  // The session goes on whatever happens.
  const complain = (message, error) => {
    const body = { service: "memory-core", level: "error", message, extra: { error: String(error) } }
    return client.app.log({ body }).catch(() => {})
  }
  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      try {
        const texts = parts.filter(({ type, synthetic }) => type === "text" && !synthetic)
        const prompt = texts.map(({ text }) => text).join("\n")
        if (!prompt) return
        const event = { hook_event_name: "UserPromptSubmit", session_id: sessionID, prompt, cwd: directory }
        const said = await tell(event, directory, RECALL_MILLISECONDS)
        const text = said && JSON.parse(said).hookSpecificOutput?.additionalContext
        // Parts stand in the order of their ids: this one is the last.
        const id = `prt_memory-core-${randomUUID()}`
        if (text) parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true })
      } catch (error) {
        await complain("no notes were recalled for this message", error)
      }
    },
    event: async ({ event }) => {
      if (event.type !== "session.idle") return
      try {
        const path = { id: event.properties.sessionID }
        const { data: session } = await client.session.get({ path })
        if (session.parentID) return // a sub-agent
        const { data: all } = await client.session.messages({ path })
        const messages = all.slice(-KEPT_MESSAGES).map(({ info, parts }) => ({
          id: info.id,
          role: info.role,
          time: new Date(info.time.created).toISOString(),
          text: parts.filter(({ type, synthetic }) => type === "text" && !synthetic).map(({ text }) => text).join("\n"),
        }))
        await tell({ hook_event_name: "Stop", session_id: path.id, messages, cwd: directory }, directory)
      } catch (error) {
        await complain("a turn was not kept", error)
      }
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      try {
        const { data: messages } = await client.session.messages({ path: { id: sessionID } })
        // A copy with the message that asks for the compaction would begin with it.
        const asking = messages.findLast(({ parts }) => parts.some(({ type }) => type === "compaction"))
        const body = asking ? { messageID: asking.info.id } : {}
        const { data: copy } = await client.session.fork({ path: { id: sessionID }, body })
        try {
          const event = { hook_event_name: "PreCompact", session_id: sessionID, copy_id: copy.id, cwd: directory }
          await tell(event, directory)
        } finally {
          await client.session.delete({ path: { id: copy.id } })
        }
      } catch (error) {
        await complain("no notes were saved before this compaction", error)
      }
    },
  }
}
