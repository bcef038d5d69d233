//! Waits for many futures side by side: dozens that borrow, or any number that do not.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use tokio::task::JoinSet;

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

/// Tasks of a [`pool`] at one time. More than requests in flight, so that the gate never waits for tasks; few enough
/// that a hundred thousand locks do not become a hundred thousand tasks.
const TASKS: usize = 64;

/// Everything's outcome, in no order; what broke off is missing.
pub(super) async fn pool<T, F>(jobs: impl Iterator<Item = F>) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let (mut tasks, mut outcomes) = (JoinSet::new(), Vec::new());
    for job in jobs {
        if tasks.len() >= TASKS {
            outcomes.extend(tasks.join_next().await.and_then(Result::ok));
        }
        tasks.spawn(job);
    }
    while let Some(done) = tasks.join_next().await {
        outcomes.extend(done.ok());
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_does_all_its_jobs() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut done = runtime.block_on(pool((0..1000_u32).map(|n| async move { n })));
        done.sort_unstable();
        assert_eq!(done, (0..1000).collect::<Vec<_>>());
    }

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
