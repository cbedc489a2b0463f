//! The array of a packet's frames, and lists that stand for one object.

use crate::catalogue::FRAME;
use crate::event::Frame;
use crate::limits::FRAMES;
use crate::reader::json::JsonFault;
use crate::reader::qlog::Pass;
use crate::reader::shape;
use crate::reader::spelling::compact;

impl Pass<'_, '_, '_, '_> {
    pub(super) fn frames(&mut self) -> Result<(), JsonFault> {
        if !self.event.frames.is_empty() {
            return self.leftover(b"frames");
        }
        let start = self.cursor.at;
        self.copy_to(start);
        let (exact, more, acked) = (self.event.exact.len(), self.event.more.len(), self.event.acked.len());
        let (shape, kept, unread) = (self.event.shape.len(), self.event.text.len(), self.event.unread.len());
        let all_objects = self.frame_list()?;
        self.event.shape.truncate(shape);
        if all_objects {
            self.event.shape.push(shape::FRAMES);
            self.mark = self.cursor.at;
            return Ok(());
        }
        // Not every element is an object: keep the array whole and take back what was read of it.
        self.event.frames.clear();
        self.event.exact.truncate(exact);
        self.event.more.truncate(more);
        self.event.acked.truncate(acked);
        self.event.text.truncate(kept);
        self.event.unread.truncate(unread);
        (self.cursor.at, self.mark) = (start, start);
        self.event.next_is_unread();
        self.leftover(b"frames")
    }

    fn frame_list(&mut self) -> Result<bool, JsonFault> {
        self.cursor.take(b'[')?;
        if self.cursor.empty(b']')? {
            return Ok(true);
        }
        let depth = self.reader.path.len();
        loop {
            if self.cursor.peek()? != b'{' {
                self.reader.path.truncate(depth);
                return Ok(false);
            }
            let index = self.event.frames.len();
            if index == FRAMES {
                return Err(JsonFault::Frames);
            }
            let shape_start = self.event.shape.len();
            self.frame = Some((index, Frame::default()));
            self.mark = self.cursor.at;
            let read = self.fields(FRAME);
            let frame = self.frame.take();
            self.reader.path.truncate(depth);
            read?;
            self.copy_to(self.cursor.at);
            compact(&mut self.event.shape, shape_start);
            let shape_text = core::mem::take(&mut self.event.shape);
            let span = self.event.keep(&shape_text[shape_start..]);
            self.event.shape = shape_text;
            self.event.shape.truncate(shape_start);
            if let Some((_, mut frame)) = frame {
                frame.shape = span;
                self.event.frames.push(frame);
            }
            if !self.cursor.more(b']')? {
                return Ok(true);
            }
        }
    }

    pub(super) fn ranges(&mut self, key: &[u8]) -> Result<(), JsonFault> {
        let (start, first) = (self.cursor.at, self.event.acked.len());
        let style = shape::read_ranges(&mut self.cursor, &mut self.event.acked)?;
        let count = u16::try_from(self.event.acked.len() - first);
        match (style, count, &mut self.frame) {
            (Some(style), Ok(count), Some((_, frame))) if frame.ack_ranges == 0 => {
                frame.ack_ranges = count;
                self.slot(self.cursor.at - start, &[shape::RANGES, style]);
                Ok(())
            }
            _ => {
                self.event.acked.truncate(first);
                self.cursor.at = start;
                self.event.next_is_unread();
                self.leftover(key)
            }
        }
    }

    /// `[{…}]` with one plain object, as aioquic writes a datagram's `raw`: the same as the object.
    pub(super) fn one_in_a_list(&mut self, table: u8, key: &[u8]) -> Result<(), JsonFault> {
        let start = self.cursor.at;
        let value = self.cursor.value()?;
        let plain = value.iter().filter(|byte| matches!(byte, b'{' | b'[')).count() == 2;
        if !plain || value.get(1) != Some(&b'{') || !value.ends_with(b"}]") {
            self.raw(key, value);
            return Ok(());
        }
        self.cursor.at = start;
        let depth = self.reader.path.len();
        self.reader.path.extend_from_slice(key);
        self.reader.path.extend_from_slice(b".0.");
        self.cursor.take(b'[')?;
        self.fields(table)?;
        self.reader.path.truncate(depth);
        self.cursor.take(b']')
    }
}
