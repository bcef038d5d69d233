//! Waits for many futures that borrow, side by side.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// A future that may borrow.
pub(super) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Everything's outcome, in the order of the futures. Made for dozens, not for thousands: each wake asks all.
pub(super) async fn all<T>(futures: Vec<Boxed<'_, T>>) -> Vec<T> {
    let mut open: Vec<(Option<T>, Option<Boxed<'_, T>>)> =
        futures.into_iter().map(|future| (None, Some(future))).collect();
    poll_fn(|context| {
        let mut waiting = false;
        for (outcome, future) in &mut open {
            let Some(running) = future else { continue };
            match running.as_mut().poll(context) {
                Poll::Ready(value) => (*outcome, *future) = (Some(value), None),
                Poll::Pending => waiting = true,
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    open.into_iter().filter_map(|(outcome, _)| outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_come_in_order() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let wait = |millis: u64| -> Boxed<'static, u64> {
            Box::pin(async move {
                tokio::time::sleep(std::time::Duration::from_millis(millis)).await;
                millis
            })
        };
        assert_eq!(runtime.block_on(all(vec![wait(20), wait(1), wait(10)])), [20, 1, 10]);
        assert_eq!(runtime.block_on(all(Vec::<Boxed<'_, ()>>::new())), []);
    }
}
